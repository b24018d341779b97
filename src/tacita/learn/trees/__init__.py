"""Decision trees and forests under a budget."""

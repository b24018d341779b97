"""Topic models of visits, and the communities that they give. No guarantee: for the owner of the data."""

"""Parts that channels share: exact losses, packed bits, the hash, the bulk sampler, EM."""

"""From an iterate to a certificate: bounds, proofs, tests and the question of uniqueness."""

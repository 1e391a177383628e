"""Check-worthiness: how the fit of `eirene.verification.claims` is made, and the sentences it is made on."""

"""Range-vector CFR on public trees: kernels, the CFR family, best response, gadget games."""

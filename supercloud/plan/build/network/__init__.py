"""Networks as decided: subnets, names, addresses and AS numbers, all of them runs."""

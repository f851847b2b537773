package flow_test

import "flag"

var (
	simSeed  = flag.Uint64("seed", 0, "run the simulations of this seed only")
	simSeeds = flag.Int("seeds", 30, "how many seeds to simulate")
)

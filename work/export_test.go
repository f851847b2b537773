package work

// ReachJobs is how many jobs of a context look at addresses at once.
const ReachJobs = reachJobs

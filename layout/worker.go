package layout

// WorkerTypes is the set, in a context's space, of the script types that workers of
// the context have asked for: its jobs may have them though no node serves them.
const WorkerTypes = "ramet:workertypes"

package sqlitearchive

// Connections is how many connections to the file are open.
func Connections(a *Archive) int {
	return a.read.Stats().OpenConnections + a.write.Stats().OpenConnections
}

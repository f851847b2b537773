package trial

// Parses reports whether a text is one of tests.
func Parses(text []byte) bool {
	r, _ := parse(text)
	return len(r.Faults()) == 0
}

package layout

// Told is the record in space 0 of what an owner of leases is to be told: a field for each job
// that is to stop, "<context>/<job key>". All stand in space 0, where nodes watch anyway, and
// little changes. It expires: with its next renewal an owner learns of it in any case.
func Told(owner string) string { return "ramet:told:" + owner }

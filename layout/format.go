package layout

// Format is the record in space 0 that says in which format everything lies on a
// board: see package format. A board without it is of format 1.
const (
	Format        = "ramet:format"
	FormatVersion = "version"
	FormatNeeds   = "needs"   // the first release that knows it
	FormatMadeBy  = "made_by" // the program that made the board, or brought it to this format
	FormatMadeMs  = "made_ms"
)

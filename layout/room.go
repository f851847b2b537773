package layout

// Rooms counts, in a context's space, how often things were made of which it may have only so
// many: a field for each kind. Whoever makes one guards that none was made since it counted them.
const Rooms = "ramet:rooms"

// RoomFirst is the field of [Rooms] for who has asked to make one of a kind before all others do. It
// is only asked for: what keeps the limit is the guard of how many were made.
func RoomFirst(kind string) string { return kind + "_first" }

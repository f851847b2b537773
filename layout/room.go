package layout

// Rooms counts, in a context's space, how often things were made of which it may have only so
// many: a field for each kind. Whoever makes one guards that none was made since it counted them.
const Rooms = "ramet:rooms"

package timetable

// Stamp is stamp, for tests.
var Stamp = stamp

// Package sqleffect is the effect driver that runs the operator's statements on
// a database: PostgreSQL, MySQL or MariaDB, or SQLite.
//
// A payload gives values, never SQL: a statement names fields of the payload as
// :name, and the database gets the statement and the values apart.
//
//	statements:
//	  - INSERT INTO bookings (id, guest, nights) VALUES (:_command_id, :guest.name, :nights)
//	  - sql: UPDATE rooms SET free = free - 1 WHERE kind = :room AND free > 0
//	    expect: 1
//
// All statements are one transaction. With a dedupe_table that transaction also
// writes down that the command is done, and with which answer: a second attempt
// finds it and gives the same answer back, so that the statements are applied
// exactly once. Without one they are applied at least once, and have to bear it.
package sqleffect

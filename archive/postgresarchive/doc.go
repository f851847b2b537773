// Package postgresarchive keeps the archive in a PostgreSQL database (13 or
// newer, encoding UTF8), in the tables "records" and "names" of the schema
// "ramet", or another that the URL names by ?schema=. Any number of nodes share
// it.
//
// Open does not connect: a node starts while the server is away, and what ends
// stays on the board. The first call that reaches the server brings the schema
// up to date, under an advisory lock, so that nodes that start at once do it
// once.
//
// Words stand in a tsvector with a GIN index; they are split in package
// archive, and the server's dictionaries play no part.
//
// Put asks for synchronous_commit, whatever the server's default is. What
// Durability says is read from the server's settings: a server with fsync off
// keeps nothing over a power cut.
//
// Connections are pgx's pool's, which has goroutines of its own until Close.
package postgresarchive

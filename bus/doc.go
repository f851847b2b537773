// Package bus is the contract of what carries parcels between nodes, of one
// organisation or of several.
//
// A parcel is bytes with an address. What is in it, who signed it, and what
// becomes of it when it gets lost is the business of package post: it pushes
// again until the receiver's signed receipt is there, so the truth is on the
// boards of the two sides, and no bus needs to be durable.
//
// Package bustest holds what every driver must do.
package bus

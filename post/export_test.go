package post

import "github.com/ramet-run/ramet/domain"

// What travels, for tests that forge it.
type (
	Parcel  = parcel
	Receipt = receipt
	Note    = note
)

var (
	Seal       = seal
	Unseal     = unseal
	ParcelMark = parcelMark

	RememberFor = rememberFor

	CheckMessage = checkMessage
)

// MaxParcelItems bounds what one parcel brings.
const MaxParcelItems = maxParcelItems

// ReadMessage reads a message of a parcel from a node.
func ReadMessage(text []byte, from string) (*domain.Message, error) {
	i, err := readMessage(text, from)
	if err != nil {
		return nil, err
	}
	return i.m, nil
}

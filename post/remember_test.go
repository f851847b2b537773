package post_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/post"
)

// TestAMessageIsRememberedAsLongAsItCanCome, whatever the clock of the node that takes it says: when it is set right,
// the message is good as long as it says.
func TestAMessageIsRememberedAsLongAsItCanCome(t *testing.T) {
	const good = 24 * time.Hour
	for _, ahead := range []time.Duration{0, 30 * time.Second, time.Hour, 23 * time.Hour} {
		written := time.Now().Add(-ahead) // a moment ago, by the right clock
		m := &domain.Message{CreatedAt: domain.At(written), ExpiresAt: domain.At(written.Add(good))}
		if got := post.RememberFor(m); got < good {
			t.Errorf("with a clock that is %v ahead it is remembered for %v, and comes for %v", ahead, got, good)
		}
	}
}

package saga_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestAContextHasSoManyPartitions: each is three consumers of streams that all contexts share.
func TestAContextHasSoManyPartitions(t *testing.T) {
	bubble(t, func(r *rig) {
		apply := func(in domain.TenantID, name string, partitions int) error {
			def := order()
			def.Name, def.Partitions = name, partitions
			_, _, err := r.engine.Apply(r.Context(), in, actor, def, "")
			return err
		}
		const fit = domain.MaxPartitions / domain.MaxSagaPartitions
		var refused atomic.Int32
		var all sync.WaitGroup
		for i := range fit + 3 {
			all.Go(func() {
				if err := apply(shop, fmt.Sprint("order", i), domain.MaxSagaPartitions); errors.Is(err, domain.ErrLimit) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := refused.Load(); n != 3 {
			t.Errorf("%d sagas were refused, want 3", n)
		}
		if err := apply(shop, "one", 1); !errors.Is(err, domain.ErrLimit) {
			t.Errorf("one more: got %v", err)
		}
		if _, err := r.engine.Definition(r.Context(), shop, "one", 0); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("what was refused: got %v", err)
		}
		r.must(apply(8, "one", 1)) // of another context
		list, _, err := r.engine.Definitions(r.Context(), shop, "", 1)
		r.must(err)
		r.must(apply(shop, list[0].Name, 63)) // fewer than it had
		r.must(apply(shop, "one", 1))
	})
}

package sqleffect_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ramet-run/ramet/internal/mariadbtest"
	"github.com/ramet-run/ramet/internal/postgrestest"
)

// TestOnceThoughTheServerCrashes kills servers under commands that are tried
// until they have an answer: each is applied exactly once.
func TestOnceThoughTheServerCrashes(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) (p *place, restart func()){
		"postgres": func(t *testing.T) (*place, func()) {
			s := &servers{postgres: postgrestest.Start(t, "fsync = off")}
			return s.newPostgres(t), s.postgres.Restart
		},
		"mariadb": func(t *testing.T) (*place, func()) {
			s := &servers{mariadb: mariadbtest.Start(t)}
			return s.newMariaDB(t), s.mariadb.Restart
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, restart := start(t)
			p.exec(t, "CREATE TABLE x (id VARCHAR(40), n INT)")
			e := p.open(t, map[string]any{"statements": []any{"INSERT INTO x VALUES (:_command_id, 1)", "SELECT count(*) AS n FROM x WHERE id = :_command_id"},
				"dedupe_table": "effects_done", "create_dedupe_table": true})
			const workers, commands, crashes = 4, 100, 3
			var done, lost atomic.Int64
			next := make(chan struct{}, workers*commands)
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := range commands {
						for {
							answer, err := do(t, e, fmt.Sprintf("crash-%d-%d", w, i), "")
							if err == nil {
								if want := `{"affected":[1,1],"rows":[{"n":1}]}`; string(answer) != want {
									t.Errorf("got %s, want %s", answer, want)
								}
								break
							}
							lost.Add(1)
							if again(t, err, ""); t.Failed() {
								for range commands - i {
									next <- struct{}{} // nobody is to wait for us
								}
								return
							}
						}
						done.Add(1)
						next <- struct{}{}
					}
				})
			}
			for range crashes {
				for range workers * commands / (crashes + 1) {
					<-next
				}
				restart() // while calls are in flight
			}
			wg.Wait()
			if n := p.count(t, "SELECT count(*) FROM x"); n != workers*commands || done.Load() != workers*commands {
				t.Errorf("got %d applied and %d answered, want %d of each", n, done.Load(), workers*commands)
			}
			t.Logf("%d attempts were lost in %d crashes", lost.Load(), crashes)
		})
	}
}

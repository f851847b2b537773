// Command web-app is a small web application whose slow work is done by Ramet.
//
//	web-app serve    answers on $LISTEN: POST /reports asks for a report, GET /reports/ID shows how far it is
//	web-app work     runs the reports, as many processes of it as you like
//
// A report that is made is told to $NOTIFY, a URL, if it is set.
// Both reach the node at $RAMET_NODE with the token in $RAMET_TOKEN, in context 1. Of several nodes of one board the
// addresses stand there with commas between them, and the tokens, one for each, in the same order: where one does not
// answer, the next is asked.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/client/failover"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/worker"
)

const (
	house  = domain.TenantID(1)
	report = domain.ScriptType("report")
)

// Report is what a report is asked for with.
type Report struct {
	Rows int `json:"rows"`
}

// Sum is what comes of it.
type Sum struct {
	Rows  int `json:"rows"`
	Total int `json:"total"`
}

// makeReport is the slow work.
func makeReport(ctx context.Context, job *worker.Job, r Report) (Sum, error) {
	if r.Rows < 1 {
		return Sum{}, worker.Fail(fmt.Errorf("rows is %d: want at least 1", r.Rows))
	}
	sum := Sum{Rows: r.Rows}
	for row := 1; row <= r.Rows; row++ {
		select {
		case <-ctx.Done():
			return Sum{}, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
		sum.Total += row
		job.Logf("%d %%", 100*row/r.Rows)
	}
	return sum, notify(ctx, job.Key(), sum)
}

// notify tells $NOTIFY, if there is one, that a report is made. A worker that dies before its
// end is known to the node has told it already, and the next one tells it again: the key, which
// is the same in all attempts, says that it is the same report.
func notify(ctx context.Context, key domain.JobKey, sum Sum) error {
	where := os.Getenv("NOTIFY")
	if where == "" {
		return nil
	}
	text := strings.NewReader(strconv.Itoa(sum.Total))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, where, text)
	if err != nil {
		return worker.Fail(err)
	}
	req.Header.Set("Idempotency-Key", key.String())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", where, resp.Status)
	}
	return nil
}

func main() {
	c, err := connect()
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case len(os.Args) == 2 && os.Args[1] == "work":
		w := worker.New(c, worker.Config{Context: house, Slots: 8, Lease: 5 * time.Second})
		worker.Handle(w, report, makeReport)
		err = w.Run(ctx)
	case len(os.Args) == 2 && os.Args[1] == "serve":
		err = serve(ctx, c)
	default:
		err = fmt.Errorf("want web-app serve or web-app work")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// connect makes a client of the nodes.
func connect() (*client.Client, error) {
	addresses, tokens := failover.Addresses(os.Getenv("RAMET_NODE")), strings.Split(os.Getenv("RAMET_TOKEN"), ",")
	if len(addresses) != len(tokens) {
		return nil, fmt.Errorf("RAMET_NODE has %d addresses, and RAMET_TOKEN %d tokens: want one for each", len(addresses), len(tokens))
	}
	nodes := make([]failover.Node, len(addresses))
	for i, a := range addresses {
		nodes[i] = failover.Node{URL: a.URL, Token: func(context.Context) (string, error) { return tokens[i], nil }}
	}
	cfg, err := failover.Config(nodes...)
	if err != nil {
		return nil, err
	}
	cfg.Keyed = true // a report is submitted once, also where the node that was asked has gone before it answered
	return client.New(cfg)
}

func serve(ctx context.Context, c *client.Client) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /reports", func(w http.ResponseWriter, r *http.Request) {
		rows, err := strconv.Atoi(r.FormValue("rows"))
		if err != nil {
			http.Error(w, "rows: want a number", http.StatusBadRequest)
			return
		}
		key, err := worker.Submit(r.Context(), c, house, report, Report{Rows: rows}, func(j *domain.Job) { j.Retries = 3 })
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintln(w, key)
	})
	mux.HandleFunc("GET /reports/{key}", func(w http.ResponseWriter, r *http.Request) {
		key, err := domain.ParseJobKey(r.PathValue("key"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		job, err := c.Job(r.Context(), house, key)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		fmt.Fprintf(w, "%s, attempt %d\n", job.Status, job.Attempt)
		logs, _ := c.Logs(r.Context(), house, key, 0, 1000)
		for _, l := range logs.Logs {
			fmt.Fprintln(w, l.Line)
		}
		if job.Status == domain.JobFinished {
			fmt.Fprintln(w, "total", job.Result["total"])
		}
	})
	server := &http.Server{Addr: os.Getenv("LISTEN"), Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { <-ctx.Done(); server.Close() }()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

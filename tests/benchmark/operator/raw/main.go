// raw sends the same writes for Echoes as the operator, but watches nothing and does not decode the responses. The benchmark compares the
// operator with raw, and uses raw to create Echoes.
//
// raw prints "ready", starts writing when it receives a line, and exits when it has written everything.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/replay"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "raw: "+err.Error())
		os.Exit(1)
	}
}

type options struct {
	target, template string
	count, workers   int
	create           bool
}

func parse(arguments []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("raw", flag.ContinueOnError)
	flags.StringVar(&o.target, "target", "", "a file that contains the API server and the certificate")
	flags.StringVar(&o.template, "template", "", "a file that contains the writes for an Echo; without it, raw writes nothing for Echoes")
	flags.BoolVar(&o.create, "create", false, "create the Echoes; otherwise, they must exist")
	flags.IntVar(&o.count, "count", 1, "the number of Echoes")
	flags.IntVar(&o.workers, "workers", 16, "the number of Echoes to write at the same time")
	return o, flags.Parse(arguments)
}

func run(ctx context.Context, arguments []string, stdin io.Reader, stdout io.Writer) error {
	o, err := parse(arguments)
	if err != nil {
		return err
	}
	w := writer{options: o}
	target := replay.Target{}
	if err := readJSON(o.target, &target); err != nil {
		return err
	}
	if o.template != "" {
		if err := readJSON(o.template, &w.template); err != nil {
			return err
		}
	}
	if w.client, err = replay.NewClient(target); err != nil {
		return err
	}
	if w.known, err = w.list(ctx); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	if _, err := stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	return w.writeAll(ctx, stdout)
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// writeAll sends the writes for all Echoes with parallel workers, and then prints the time that each Echo took.
func (w *writer) writeAll(ctx context.Context, stdout io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	times := make([]timing, w.count)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range w.workers {
		workers.Go(func() {
			answer, buffers := &bytes.Buffer{}, buffers{}
			for i := int(next.Add(1)) - 1; i < w.count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if times[i], err = w.writeOne(ctx, i, answer, &buffers); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(times)
}

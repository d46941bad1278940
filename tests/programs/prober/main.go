// prober is the tests' client inside the cluster: it sends requests to echo servers, a bounded number in a bounded time, and
// prints what came back: that it is connected, the first answer of each pod if asked, and in the last line a summary as JSON. It
// exits 1 when a request failed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// report is what came back.
type report struct {
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
	// Seconds are how long the requests took altogether, with the pauses between them.
	Seconds float64 `json:"seconds"`
	// Errors are the first few failures.
	Errors []string `json:"errors,omitempty"`
	// Pods are how many requests each pod answered.
	Pods map[string]int `json:"pods"`
	// status and text are what an answer must be.
	status int
	text   bool
	// answers are the first answer of each pod.
	answers map[string]string
}

const (
	requestTimeout = 10 * time.Second
	keptErrors     = 5
)

func main() {
	url := flag.String("url", "", "where to send requests")
	count := flag.Int("count", 100, "how many requests to send at most")
	pods := flag.Int("pods", 0, "stop as soon as this many pods have answered; 0: go on")
	interval := flag.Duration("interval", 10*time.Millisecond, "how long to wait between requests")
	duration := flag.Duration("duration", time.Minute, "how long to go on at most; a signal ends it sooner")
	status := flag.Int("status", http.StatusOK, "the status that every answer must have")
	text := flag.Bool("text", false, "take any text for an answer, and not only an echo")
	stop := flag.Bool("stop", false, "do nothing but end the prober that this container runs")
	show := flag.Bool("show", false, "print the first answer of each pod")
	flag.Parse()
	if *stop {
		if err := syscall.Kill(1, syscall.SIGTERM); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	r := report{status: *status, text: *text, Pods: map[string]int{}, answers: map[string]string{}}
	r.run(*url, *count, *pods, *interval, *duration)
	for _, pod := range slices.Sorted(maps.Keys(r.answers)) {
		if *show {
			fmt.Println(r.answers[pod])
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil || r.Failed > 0 || r.Requests == 0 {
		os.Exit(1)
	}
}

// run probes until it has done enough, its time is over, or a signal comes.
func (r *report) run(url string, count, pods int, interval, duration time.Duration) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	r.await(ctx, url, interval)
	r.probe(ctx, url, count, pods, interval)
}

// await waits for the first connection: nodes learn of a Service's pods a moment after these are ready.
func (r *report) await(ctx context.Context, url string, interval time.Duration) {
	client := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	for ; ctx.Err() == nil; <-time.After(interval) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return
		}
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close()
			fmt.Println("connected to", url)
			return
		}
	}
}

// probe sends requests, by turns on a connection of their own and on one that is kept, as clients do.
func (r *report) probe(ctx context.Context, url string, count, pods int, interval time.Duration) {
	kept := &http.Client{Timeout: requestTimeout}
	fresh := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	begun := time.Now()
	defer func() { r.Seconds = time.Since(begun).Seconds() }()
	for i := range count {
		client := kept
		if i%2 == 0 {
			client = fresh
		}
		// A request that was begun is finished: the end of the probe is no failure of the server.
		if err := r.request(context.WithoutCancel(ctx), client, url); err != nil {
			r.Failed++
			if len(r.Errors) < keptErrors {
				r.Errors = append(r.Errors, time.Now().UTC().Format(time.TimeOnly)+" "+err.Error())
			}
		}
		r.Requests++
		if pods > 0 && len(r.Pods) >= pods {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// request sends one request and notes which pod answered.
func (r *report) request(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Pod string `json:"pod"`
	}{}
	if err := json.Unmarshal(body, &answer); err != nil && !r.text || response.StatusCode != r.status {
		return fmt.Errorf("answered %s: %.200q", response.Status, body)
	}
	if r.Pods[answer.Pod] == 0 {
		r.answers[answer.Pod] = string(body)
	}
	r.Pods[answer.Pod]++
	return nil
}

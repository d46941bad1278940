// prober is the in-cluster HTTP client of the tests. It sends requests to echo servers until it has sent a maximum number of requests or a
// maximum duration has elapsed. It prints a line when it is connected, optionally the first response from each pod, and finally a JSON
// summary. It exits with code 1 if any request failed. It sends ordinary requests, or a flood of unfinished requests.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// report is the summary of a run.
type report struct {
	settings settings
	lock     sync.Mutex
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
	// Seconds is the total duration, including the pauses between requests.
	Seconds float64 `json:"seconds"`
	// Errors contains the first few errors.
	Errors []string `json:"errors,omitempty"`
	// Pods maps the name of each pod to its number of responses.
	Pods map[string]int `json:"pods"`
	// answers maps the name of each pod to its first response.
	answers map[string]string
}

const (
	requestTimeout = 10 * time.Second
	keptErrors     = 5
	// control is the address of the prober's Unix socket, which is in the network namespace of the prober's pod.
	control = "@prober"
)

func main() {
	s, stop := parseFlags()
	if stop {
		connection, err := (&net.Dialer{}).DialContext(context.Background(), "unix", control)
		exitOn(err)
		runtime.KeepAlive(connection) // keeps the connection open until this process exits
		return
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", control)
	exitOn(err)
	r := report{settings: s, Pods: map[string]int{}, answers: map[string]string{}}
	r.run(listener)
	for _, pod := range slices.Sorted(maps.Keys(r.answers)) {
		if s.show {
			fmt.Println(r.answers[pod])
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(&r); err != nil || r.Failed > 0 || r.Requests == 0 {
		os.Exit(1)
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run sends requests until it reaches one of the limits in the settings, a signal arrives, or a prober with -stop connects.
func (r *report) run(listener net.Listener) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, r.settings.duration)
	defer cancel()
	go func() {
		defer cancel()
		// If this process exited before a prober with -stop, the kernel would kill that prober, and kubectl exec would report exit code 137.
		if connection, err := listener.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, connection)
		}
	}()
	r.await(ctx)
	begun := time.Now()
	defer func() { r.Seconds = time.Since(begun).Seconds() }()
	if r.settings.flood > 0 {
		r.flood(ctx)
	} else {
		r.probe(ctx)
	}
}

// await waits until the first connection succeeds, because nodes update a Service's endpoints some time after the pods become ready.
func (r *report) await(ctx context.Context) {
	client := r.settings.client(false)
	for ; ctx.Err() == nil; <-time.After(r.settings.interval) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.settings.url, http.NoBody)
		if err != nil {
			return
		}
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close()
			fmt.Println("connected to", r.settings.url)
			return
		}
	}
}

// probe sends requests, alternating between a new connection and a persistent connection.
func (r *report) probe(ctx context.Context) {
	kept, fresh := r.settings.client(true), r.settings.client(false)
	for i := range r.settings.count {
		client := kept
		if i%2 == 0 {
			client = fresh
		}
		// The prober completes the request even after the duration has elapsed, so that the request does not count as a failure.
		r.record(r.request(context.WithoutCancel(ctx), client))
		if r.settings.pods > 0 && len(r.Pods) >= r.settings.pods {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.settings.interval):
		}
	}
}

// record adds a request to the report.
func (r *report) record(err error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.Requests++
	if err == nil {
		return
	}
	r.Failed++
	if len(r.Errors) < keptErrors {
		r.Errors = append(r.Errors, time.Now().UTC().Format(time.TimeOnly)+" "+err.Error())
	}
}

// request sends a request and records which pod responded.
func (r *report) request(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.settings.url, http.NoBody)
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
	var answer struct{ Pod string }
	if err := json.Unmarshal(body, &answer); err != nil && !r.settings.text || response.StatusCode != r.settings.status {
		return fmt.Errorf("the response is %s: %.200q", response.Status, body)
	}
	if r.Pods[answer.Pod] == 0 {
		r.answers[answer.Pod] = string(body)
	}
	r.Pods[answer.Pod]++
	return nil
}

// settings contains the flags that describe the requests.
type settings struct {
	url                  string
	count, pods          int
	interval, duration   time.Duration
	status               int
	text, show, insecure bool
	flood                int
}

// parseFlags returns the settings, and reports whether to stop another prober instead of sending requests.
func parseFlags() (settings, bool) {
	s := settings{}
	flag.StringVar(&s.url, "url", "", "the URL to send requests to")
	flag.IntVar(&s.count, "count", 100, "the maximum number of requests")
	flag.IntVar(&s.pods, "pods", 0, "stop when this many pods have responded; 0 means no such limit")
	flag.DurationVar(&s.interval, "interval", 10*time.Millisecond, "the pause between requests")
	flag.DurationVar(&s.duration, "duration", time.Minute, "the maximum duration; a signal stops the prober earlier")
	flag.IntVar(&s.status, "status", http.StatusOK, "the required status of responses")
	flag.BoolVar(&s.text, "text", false, "allow responses that are not JSON")
	flag.BoolVar(&s.show, "show", false, "print the first response from each pod")
	flag.BoolVar(&s.insecure, "insecure", false, "accept any certificate")
	flag.IntVar(&s.flood, "flood", 0, "instead, hold this many HTTP/2 connections full of unfinished requests; 0 disables this")
	stop := flag.Bool("stop", false, "stop the prober in this container")
	flag.Parse()
	return s, *stop
}

// client returns an HTTP client that either reuses its connections or opens a new one for each request.
func (s settings) client(keep bool) *http.Client {
	transport := &http.Transport{
		DisableKeepAlives: !keep,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: s.insecure}, //nolint:gosec // for certificates that tests create
	}
	return &http.Client{Timeout: requestTimeout, Transport: transport}
}

// prober is the HTTP client of the tests in the cluster. It sends requests to echo servers, up to a number and a time, and prints that it
// is connected, optionally the first response of each pod, and in the last line a summary as JSON. It exits with code 1 if a request
// failed.
package main

import (
	"context"
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
	"syscall"
	"time"
)

// report is the summary.
type report struct {
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
	// Seconds is how long all requests took, including the pauses between them.
	Seconds float64 `json:"seconds"`
	// Errors contains the first errors.
	Errors []string `json:"errors,omitempty"`
	// Pods contains the number of responses of each pod.
	Pods map[string]int `json:"pods"`
	// status is the required status of responses; text means that they need not be JSON.
	status int
	text   bool
	// answers contains the first response of each pod.
	answers map[string]string
}

const (
	requestTimeout = 10 * time.Second
	keptErrors     = 5
	// control is the socket of the prober in the network namespace of its pod.
	control = "@prober"
)

func main() {
	url := flag.String("url", "", "the URL to send requests to")
	count := flag.Int("count", 100, "the maximum number of requests")
	pods := flag.Int("pods", 0, "stop when this many pods have responded, unless it is 0")
	interval := flag.Duration("interval", 10*time.Millisecond, "the pause between requests")
	duration := flag.Duration("duration", time.Minute, "the maximum duration; a signal stops the prober earlier")
	status := flag.Int("status", http.StatusOK, "the required status of responses")
	text := flag.Bool("text", false, "allow responses that are not JSON")
	stop := flag.Bool("stop", false, "stop the prober of this container")
	show := flag.Bool("show", false, "print the first response of each pod")
	flag.Parse()
	if *stop {
		connection, err := (&net.Dialer{}).DialContext(context.Background(), "unix", control)
		exitOn(err)
		runtime.KeepAlive(connection) // it is closed when this process exits
		return
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", control)
	exitOn(err)
	r := report{status: *status, text: *text, Pods: map[string]int{}, answers: map[string]string{}}
	r.run(listener, *url, *count, *pods, *interval, *duration)
	for _, pod := range slices.Sorted(maps.Keys(r.answers)) {
		if *show {
			fmt.Println(r.answers[pod])
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil || r.Failed > 0 || r.Requests == 0 {
		os.Exit(1)
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run sends requests until the number or the duration is reached, a signal is received, or -stop is called.
func (r *report) run(listener net.Listener, url string, count, pods int, interval, duration time.Duration) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	go func() {
		defer cancel()
		awaitStop(listener)
	}()
	r.await(ctx, url, interval)
	r.probe(ctx, url, count, pods, interval)
}

// awaitStop waits until a process with -stop has connected and exited. If the prober exited earlier, the kernel would kill that process
// with the other processes of the container, and kubectl exec would report exit code 137.
func awaitStop(listener net.Listener) {
	connection, err := listener.Accept()
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, connection)
}

// await waits for the first connection, because nodes update the endpoints of a Service some time after its pods are ready.
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

// probe sends requests alternately over a new connection and over one that is kept alive.
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
		// The request is completed even if the time is over, so that this is not counted as a failure.
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

// request sends a request and records which pod responded.
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
		return fmt.Errorf("the response is %s: %.200q", response.Status, body)
	}
	if r.Pods[answer.Pod] == 0 {
		r.answers[answer.Pod] = string(body)
	}
	r.Pods[answer.Pod]++
	return nil
}

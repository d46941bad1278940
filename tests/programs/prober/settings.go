package main

import (
	"crypto/tls"
	"flag"
	"net/http"
	"time"
)

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

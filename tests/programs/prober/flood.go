package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// streams is how many concurrent requests each connection of a flood has, unless the server allows fewer.
	streams = 250
	// delayed is how many of these requests wait for a delayed response.
	delayed = streams / 8
	// floodPause is the time after which a request that has ended is sent again. The flood uses memory, not CPU.
	floodPause = time.Second
)

// flood holds connections full of requests that do not end by themselves: most have a body whose last byte never comes, the others wait for
// a delayed response. Requests that the server ends are sent again. The summary counts requests that the server rejected as failed.
func (r *report) flood(ctx context.Context) {
	part := strings.Repeat("x", 64<<10)
	var group sync.WaitGroup
	for range r.settings.flood {
		client := &http.Client{Transport: &http.Transport{
			Protocols:       http2(),
			MaxConnsPerHost: 1,
			HTTP2:           &http.HTTP2Config{StrictMaxConcurrentRequests: true},
		}}
		for i := range streams {
			group.Go(func() {
				for ctx.Err() == nil {
					r.record(r.hold(ctx, client, part, i >= delayed))
					<-time.After(floodPause)
				}
			})
		}
	}
	group.Wait()
}

// hold sends a request that does not end by itself.
func (r *report) hold(ctx context.Context, client *http.Client, part string, upload bool) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.settings.url, http.NoBody)
	if err != nil {
		return err
	}
	if upload {
		end, _ := io.Pipe() // nothing is written to it
		request.Method = http.MethodPost
		request.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(part), end), end}
		request.ContentLength = int64(len(part)) + 1
	} else {
		request.Header.Set("X-Echo-Delay", "30s")
	}
	response, err := client.Do(request)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the response is %s", response.Status)
	}
	return nil
}

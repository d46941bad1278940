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
	// streams is the number of concurrent requests on each of the flood's connections, unless the server allows fewer.
	streams = 250
	// delayed is how many requests on each connection wait for a delayed response.
	delayed = streams / 8
	// floodPause is how long the flood waits before it repeats a finished request. It makes the flood use memory instead of CPU time.
	floodPause = time.Second
)

// flood holds connections open, each with many unfinished requests. Most of these requests have an incomplete body. The others wait for a
// delayed response. The flood repeats each request that finishes. In the summary, rejected requests count as failed requests.
func (r *report) flood(ctx context.Context) {
	part, protocols := strings.Repeat("x", 64<<10), &http.Protocols{}
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	var group sync.WaitGroup
	for range r.settings.flood {
		client := &http.Client{Transport: &http.Transport{
			Protocols:       protocols,
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

// hold sends a request, and waits for the response.
func (r *report) hold(ctx context.Context, client *http.Client, part string, upload bool) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.settings.url, http.NoBody)
	if err != nil {
		return err
	}
	if upload {
		end, _ := io.Pipe() // nothing is ever written to this pipe
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

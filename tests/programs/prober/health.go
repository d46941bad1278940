package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	// emptyMessage is a gRPC frame that contains a message without fields: uncompressed, with a length of 0.
	emptyMessage = "\x00\x00\x00\x00\x00"
	// servingMessage is a gRPC frame that contains a grpc.health.v1.HealthCheckResponse. In this message, the first field, status, has the
	// value 1 (SERVING).
	servingMessage = "\x00\x00\x00\x00\x02\x08\x01"
)

// checkHealth sends a gRPC health check for the whole server.
func (r *report) checkHealth(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.settings.url, strings.NewReader(emptyMessage))
	if err != nil {
		return err
	}
	request.URL.Path = "/grpc.health.v1.Health/Check"
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if status := response.Trailer.Get("Grpc-Status"); status != "0" || string(body) != servingMessage {
		return fmt.Errorf("the response is %s, %v, %v: %.200q", response.Status, response.Header, response.Trailer, body)
	}
	return nil
}

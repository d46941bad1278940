package main

import (
	"context"
	"slices"
	"time"
)

// The values of grpc.health.v1.HealthCheckResponse.ServingStatus.
const (
	healthServing        = 1
	healthNotServing     = 2
	healthServiceUnknown = 3
)

// repeatHealth is how often a watched status is sent again, so that a stream to a client that is gone ends.
const repeatHealth = time.Minute

// healthNames returns the services whose health is known; "" is the server as a whole.
func healthNames() []string { return []string{"", echoService, gatewayAPIService} }

// healthOf returns the serving status of a service.
func (h *handler) healthOf(service string) uint64 {
	switch {
	case !slices.Contains(healthNames(), service):
		return healthServiceUnknown
	case h.life.draining.Load():
		return healthNotServing
	}
	return healthServing
}

// healthMessage returns a HealthCheckResponse.
func healthMessage(status uint64) protobuf {
	var response protobuf
	response.varint(1, status)
	return response
}

// checkedService returns the service of a HealthCheckRequest.
func checkedService(ctx context.Context, c *grpcCall) (string, error) {
	message, err := c.receiveOne(ctx)
	if err != nil {
		return "", err
	}
	defer message.release()
	service := ""
	err = eachField(message.data, func(f protobufField) {
		if f.is(1, wireBytes) {
			service = string(f.data)
		}
	})
	return service, err
}

func checkHealth(ctx context.Context, c *grpcCall) error {
	service, err := checkedService(ctx, c)
	if err != nil {
		return err
	}
	status := c.healthOf(service)
	if status == healthServiceUnknown {
		return grpcErrorf(grpcNotFound, "unknown service %s", cut(service))
	}
	return c.send(healthMessage(status))
}

func listHealth(ctx context.Context, c *grpcCall) error {
	message, err := c.receiveOne(ctx)
	if err != nil {
		return err
	}
	message.release() // it has no fields
	var response protobuf
	for _, name := range healthNames() {
		var entry protobuf
		entry.text(1, name)
		entry.message(2, healthMessage(c.healthOf(name)))
		response.message(1, entry)
	}
	return c.send(response)
}

// watchHealth sends the status of a service immediately, when the server begins to drain, and repeatedly.
func watchHealth(ctx context.Context, c *grpcCall) error {
	service, err := checkedService(ctx, c)
	if err != nil {
		return err
	}
	for {
		change := c.life.notReady
		if c.life.draining.Load() {
			change = nil // it has no further one
		}
		if err := c.send(healthMessage(c.healthOf(service))); err != nil {
			return err
		}
		select {
		case <-change:
		case <-time.After(repeatHealth):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

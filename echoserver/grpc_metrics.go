package main

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
)

// limitGRPCMessage is the reason of echo_limited_total for messages over maxGRPCMessage.
const limitGRPCMessage = "grpc_message"

// called counts a completed call. An unknown method is "other".
func (m *metrics) called(method string, code grpcCode) {
	labels := `method="` + method + `",code="` + code.String() + `"`
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.calls[labels]++
}

// appliedToCall counts the controls that were applied to a call.
func (m *metrics) appliedToCall(wanted grpcControls) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if wanted.code != grpcOK {
		m.controls["grpc-status"]++
	}
	if wanted.delay > 0 {
		m.controls["delay"]++
	}
}

// callsText writes the calls in the Prometheus text format.
func (m *metrics) callsText(b *bytes.Buffer) {
	for _, labels := range slices.Sorted(maps.Keys(m.calls)) {
		b.WriteString("echo_grpc_requests_total{" + labels + "} " + strconv.FormatUint(m.calls[labels], 10) + "\n")
	}
}

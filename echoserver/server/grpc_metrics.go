package server

// limitGRPCMessage is the reason of echo_limited_total for messages over maxGRPCMessage.
const limitGRPCMessage = "grpc_message"

// called counts a completed call. An unknown method is "other".
func (m *metrics) called(method string, code grpcCode) {
	m.calls.WithLabelValues(method, code.String()).Inc()
}

// appliedToCall counts the controls that were applied to a call.
func (m *metrics) appliedToCall(desired grpcControls) {
	if desired.code != grpcOK {
		m.controls.WithLabelValues("grpc-status").Inc()
	}
	if desired.delay > 0 {
		m.controls.WithLabelValues("delay").Inc()
	}
}

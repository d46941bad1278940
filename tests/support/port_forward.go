package support

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// ForwardPort forwards the connections of a port-forward to an address, one at a time, as a kubelet does. It ignores the requested port.
func ForwardPort(w http.ResponseWriter, r *http.Request, address string) {
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	if connection == nil {
		return
	}
	defer func() { _ = connection.Close() }()
	for {
		select {
		case <-connection.CloseChan():
			return
		case failure := <-streams: // clients create the error stream first
			pipe(r.Context(), failure, <-streams, address)
		}
	}
}

func pipe(ctx context.Context, failure, data httpstream.Stream, address string) {
	defer func() { _ = errors.Join(failure.Close(), data.Close()) }()
	target, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		_, _ = fmt.Fprint(failure, err)
		return
	}
	defer func() { _ = target.Close() }()
	go func() { _, _ = io.Copy(target, data) }()
	_, _ = io.Copy(data, target)
}

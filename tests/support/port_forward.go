package support

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// ForwardPort forwards the first connection of a port-forward to an address, as a kubelet does. ForwardPort ignores the requested port.
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
	failure, data := <-streams, <-streams // clients create the error stream first
	target, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", address)
	if err != nil {
		_, _ = fmt.Fprint(failure, err)
		_ = errors.Join(failure.Close(), data.Close())
		<-connection.CloseChan()
		return
	}
	go func() { _, _ = io.Copy(target, data) }()
	_, _ = io.Copy(data, target)
	_ = errors.Join(failure.Close(), data.Close(), target.Close())
	<-connection.CloseChan()
}

package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type responses []error

func (a *responses) RoundTrip(*http.Request) (*http.Response, error) {
	err := (*a)[0]
	*a = (*a)[1:]
	if err != nil {
		return nil, err
	}
	return &http.Response{Body: http.NoBody}, nil
}

func TestConnection_reportsErrorOnceUntilResponse(t *testing.T) {
	refused, broken := errors.New("refused"), errors.New("broken")
	reset := func(port int) error {
		return &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: port}, Err: syscall.ECONNRESET}
	}
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 6443}, Err: syscall.ECONNREFUSED}
	sequence := responses{refused, refused, broken, refused, nil, broken, reset(1), reset(2), dial}
	var reported []string
	c := newConnection(&sequence, func(err error) {
		reported = append(reported, strings.TrimPrefix(err.Error(), "no response from the API server, retrying: "))
	})
	for len(sequence) > 0 {
		ask(t, t.Context(), c)
	}
	want := []string{"refused", "broken", "broken", "read: connection reset by peer", "dial tcp :6443: connection refused"}
	NewWithT(t).Expect(reported).To(BeComparableTo(want))
}

func TestConnection_ignoresOwnCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ask(t, ctx, newConnection(&responses{context.Canceled}, func(err error) { t.Error(err) }))
}

func TestIsNews(t *testing.T) {
	for err, want := range map[error]bool{
		errors.New("forbidden"): true,
		fmt.Errorf("failed to list: %w", &url.Error{Op: "Get", URL: "https://x", Err: errors.New("refused")}): false,
		apierrors.NewResourceExpired("too old"):                               false,
		apierrors.FromObject(&metav1.Status{Reason: metav1.StatusReasonGone}): false,
		io.EOF:              false,
		io.ErrUnexpectedEOF: false,
	} {
		NewWithT(t).Expect(isNews(err)).To(Equal(want), "%v", err)
	}
}

func ask(t *testing.T, ctx context.Context, c *connection) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://x", http.NoBody)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	if response, err := c.RoundTrip(request); err == nil {
		_ = response.Body.Close()
	}
}

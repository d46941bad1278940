package statusapi

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

// reviewTimeout limits the duration of a review by the API server, including all attempts.
const reviewTimeout = 10 * time.Second

// reviewRetries returns a backoff that retries a failed review twice within two seconds.
func reviewRetries() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3}
}

// retryReview sends a review and returns the response. It retries if the API server is busy or the connection was lost.
func retryReview[T any](ctx context.Context, send func(context.Context) (*T, error)) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	var reviewed *T
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, reviewRetries(), func(ctx context.Context) (bool, error) {
		reviewed, last = send(ctx)
		if isTemporary(last) {
			return false, nil
		}
		return true, last
	})
	if last != nil {
		return nil, last // the last error is more helpful than an exceeded deadline
	}
	return reviewed, err
}

// isTemporary reports whether an error may resolve itself within seconds.
func isTemporary(err error) bool {
	_, delayed := apierrors.SuggestsClientDelay(err)
	return delayed || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}

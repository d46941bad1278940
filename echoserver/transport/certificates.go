package transport

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/echo-operator/echo-operator/internal/certificates"
)

const (
	// certificateWait is how long the server waits for its first certificate, because the pod may start before the Secret exists.
	certificateWait = 10 * time.Second
	// certificatePoll is the interval between reads of the files until the first certificate is loaded, and rotationPoll is the interval
	// afterward. The kubelet updates the files about once a minute.
	certificatePoll = 250 * time.Millisecond
	rotationPoll    = 10 * time.Second
)

// TLSMetrics contains the metrics about the certificate.
type TLSMetrics struct {
	ReloadFailures atomic.Int64
	Expiry         atomic.Int64 // Unix time
}

// Certificates holds the certificate of the HTTPS port, and reloads it when the files change.
type Certificates struct {
	settings TLSSettings
	metrics  *TLSMetrics
	log      *slog.Logger
	current  atomic.Pointer[certificatePair]
	// Only one goroutine uses the following fields.
	loaded         map[string]string // the files from which current was loaded
	failed         map[string]string // the last files, if they cannot be used
	failure        string            // why they cannot be used
	emptyAuthority bool              // whether the last ca.crt was empty, so that it is reported only once
}

// AwaitCertificates waits for the certificate and loads it. Its error names the source.
func AwaitCertificates(ctx context.Context, s TLSSettings, metrics *TLSMetrics, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{settings: s, metrics: metrics, log: log}
	deadline := time.After(certificateWait)
	poll := time.Tick(certificatePoll)
	for {
		_, err := c.load()
		if err == nil {
			return c, nil
		}
		err = fmt.Errorf("TLS: %s: %w", s.source(), err)
		select {
		case <-poll:
		case <-deadline:
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (s *TLSSettings) source() string {
	if s.Secret != "" {
		return fmt.Sprintf("Secret %q", s.Secret)
	}
	return "directory " + s.Folder
}

// Follow reloads the files whenever they change, until ctx is done.
func (c *Certificates) Follow(ctx context.Context) {
	poll := time.Tick(rotationPoll)
	for {
		select {
		case <-poll:
			c.Rotate()
		case <-ctx.Done():
			return
		}
	}
}

// Rotate loads the files if they have changed. If they cannot be used, it keeps the last certificate, and counts and logs the failure once.
func (c *Certificates) Rotate() {
	last := c.current.Load()
	files, err := c.load()
	if err == nil {
		c.failure = ""
		if pair := c.current.Load(); pair != last {
			c.log.Info("certificate rotated", "source", c.settings.source(), "notAfter", pair.expiry)
		}
		return
	}
	if c.failure != err.Error() || !maps.Equal(files, c.failed) {
		c.failed, c.failure = files, err.Error()
		c.metrics.ReloadFailures.Add(1)
		c.log.Warn("certificate not rotated: the last certificate stays in use", "source", c.settings.source(), "error", c.failure,
			"notAfter", last.expiry)
	}
}

func (c *Certificates) load() (map[string]string, error) {
	files, err := c.settings.read()
	if err != nil {
		return files, err
	}
	// Some issuers write an empty ca.crt. Unless clients must present a certificate, the last ca.crt replaces it, or none at startup.
	content, exists := files[authorityFile]
	isEmpty := exists && certificates.IsEmpty([]byte(content)) && c.settings.ClientCertificate == ClientCertificateRequest
	if isEmpty {
		delete(files, authorityFile)
		if last, exists := c.loaded[authorityFile]; exists {
			files[authorityFile] = last
		}
	}
	if isEmpty && !c.emptyAuthority {
		c.metrics.ReloadFailures.Add(1)
		c.log.Warn("key ca.crt is empty: the last ca.crt stays in use, or none at startup", "source", c.settings.source())
	}
	c.emptyAuthority = isEmpty
	if c.current.Load() != nil && maps.Equal(files, c.loaded) {
		return files, nil
	}
	pair, err := c.settings.pair(files)
	if err != nil {
		return files, err
	}
	c.loaded = files
	c.current.Store(pair)
	c.metrics.Expiry.Store(pair.expiry.Unix())
	return files, nil
}

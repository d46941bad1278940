package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// certificateWait is how long the server waits for its first certificate: the pod may start before the Secret exists.
	certificateWait = 10 * time.Second
	// certificatePoll is how often the files are read while the server waits, rotationPoll while it serves. The kubelet updates the
	// files about once a minute.
	certificatePoll = 250 * time.Millisecond
	rotationPoll    = 10 * time.Second
)

// certificates is the certificate of the HTTPS port, which follows the files.
type certificates struct {
	settings tlsSettings
	metrics  *tlsMetrics
	log      *slog.Logger
	current  atomic.Pointer[tlsPair]
	// Only one goroutine uses the rest.
	loaded  tlsFiles // the files of current
	failure tlsFailure
}

// tlsFailure is why files cannot be used. The zero value is no failure.
type tlsFailure struct {
	files tlsFiles
	why   string
}

// awaitCertificates loads the certificate, for which it waits. Its error names the Secret.
func awaitCertificates(ctx context.Context, s tlsSettings, metrics *tlsMetrics, log *slog.Logger) (*certificates, error) {
	c := &certificates{settings: s, metrics: metrics, log: log}
	deadline := time.After(certificateWait)
	poll := time.NewTicker(certificatePoll)
	defer poll.Stop()
	for {
		_, err := c.load()
		if err == nil {
			return c, nil
		}
		err = fmt.Errorf("TLS: %s: %w", s.source(), err)
		select {
		case <-poll.C:
		case <-deadline:
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
	}
}

// source returns where the files come from, for messages.
func (s *tlsSettings) source() string {
	if s.secret != "" {
		return fmt.Sprintf("Secret %q", s.secret)
	}
	return "folder " + s.folder
}

// follow loads the files whenever they change, until ctx ends.
func (c *certificates) follow(ctx context.Context) {
	poll := time.NewTicker(rotationPoll)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
			c.rotate()
		case <-ctx.Done():
			return
		}
	}
}

// rotate loads changed files. If they cannot be used, the last certificate stays, and that is counted and logged once.
func (c *certificates) rotate() {
	last := c.current.Load()
	files, err := c.load()
	if err == nil {
		c.failure = tlsFailure{}
		if pair := c.current.Load(); pair != last {
			c.log.Info("certificate rotated", "source", c.settings.source(), "notAfter", pair.expiry)
		}
		return
	}
	if failure := (tlsFailure{files, err.Error()}); failure != c.failure {
		c.failure = failure
		c.metrics.reloadFailures.Add(1)
		c.log.Warn("certificate not rotated: the last one stays", "source", c.settings.source(), "error", failure.why, "notAfter", last.expiry)
	}
}

// load reads the files and uses them if they have changed.
func (c *certificates) load() (tlsFiles, error) {
	files, err := c.settings.read()
	if err != nil || c.current.Load() != nil && files == c.loaded {
		return files, err
	}
	pair, err := c.settings.pair(&files)
	if err != nil {
		return files, err
	}
	c.loaded = files
	c.current.Store(pair)
	c.metrics.expiry.Store(pair.expiry.Unix())
	return files, nil
}

package process

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// ErrInterrupted is the error of a program that was interrupted before its work was complete.
var ErrInterrupted = errors.New("interrupted; the output is incomplete")

// Interruptible returns a context that ends when the program receives SIGINT or SIGTERM. The next signal kills the program.
func Interruptible() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx
}

package main

import (
	"context"
	"errors"
	"fmt"
)

// givenCluster is an existing cluster, identified by the path of its kubeconfig. The existing cluster is neither started nor stopped.
type givenCluster string

func (c givenCluster) up(ctx context.Context) error {
	client, err := newClientset(c.kubeconfig())
	if err == nil {
		_, err = client.Discovery().ServerVersionWithContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("the cluster in KUBECONFIG=%s does not respond: %w", c, err)
	}
	return nil
}

func (c givenCluster) down(context.Context) error { return nil }

func (c givenCluster) wipe(context.Context) error {
	return errors.New("KUBECONFIG selects a cluster that this program did not start: unset it to wipe the test cluster")
}

func (c givenCluster) kubeconfig() string { return string(c) }

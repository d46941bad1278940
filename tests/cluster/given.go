package main

import (
	"context"
	"errors"
	"fmt"
)

// givenCluster is somebody else's, by the path of its kubeconfig. Nothing here starts or stops it.
type givenCluster string

func (c givenCluster) up(ctx context.Context) error {
	client, err := clients(c.kubeconfig())
	if err == nil {
		_, err = client.Discovery().ServerVersionWithContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("the cluster of KUBECONFIG=%s does not answer: %w", c, err)
	}
	return nil
}

func (c givenCluster) down(context.Context) error { return nil }

func (c givenCluster) wipe(context.Context) error {
	return errors.New("KUBECONFIG names a cluster that is not this project's: unset it to wipe the project's own")
}

func (c givenCluster) kubeconfig() string { return string(c) }

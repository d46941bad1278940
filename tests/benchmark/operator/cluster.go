package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/echo-operator/echo-operator/tests/cluster/kwok"
)

const (
	// otherNamespace is a namespace without a storm.
	otherNamespace = "other"
	// podsPerNode is the largest number of pods on a node. Each node renews a lease every 10 seconds.
	podsPerNode = 500
	// podsAtRollout is how many pods an Echo can have while it is rolled out: the old ones, new ones, and those that are being deleted.
	podsAtRollout = 2 * podsPerEcho
)

// schedulerConfig lets the scheduler take any node that fits, in little time, as often as it can.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
profiles:
- plugins: {preScore: {disabled: [{name: "*"}]}, score: {disabled: [{name: "*"}]}}
`

// cluster is a control plane with the controllers and the scheduler that pods require, and with nodes that kwok simulates.
type cluster struct {
	*controlPlane
	programs []*program // besides those of the control plane
}

// startCluster starts a cluster with nodes for the pods of a number of Echoes.
func (b *benchmark) startCluster(ctx context.Context, echoes int) (_ *cluster, err error) {
	p, err := startControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	c := &cluster{controlPlane: p}
	defer func() {
		if err != nil {
			err = errors.Join(c.failure(err), c.stop())
		}
	}()
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: otherNamespace}}
	if err := errors.Join(c.client.Create(ctx, other), c.addNodes(ctx, nodesFor(echoes)), c.startNodes(ctx, b.kwok)); err != nil {
		return c, err
	}
	return c, errors.Join(c.startControllers(ctx), c.startScheduler(ctx))
}

// nodesFor returns how many nodes the pods of a number of Echoes require, and some others.
func nodesFor(echoes int) int { return (echoes*podsAtRollout+podsPerNode-1)/podsPerNode + 1 }

// addNodes adds nodes without taints: a new node has one until a controller, which does not run here, removes it.
func (c *cluster) addNodes(ctx context.Context, count int) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("10Ti"),
		corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	return parallel(ctx, count, func(ctx context.Context, i int) error {
		node := &corev1.Node{Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
		node.Name = fmt.Sprintf("node-%03d", i)
		node.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
		node.Labels = map[string]string{corev1.LabelHostname: node.Name, corev1.LabelOSStable: "linux"}
		if err := c.client.Create(ctx, node); err != nil {
			return err
		}
		return c.client.Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"taints":null}}`)))
	})
}

// startNodes starts kwok and waits until all nodes are ready.
func (c *cluster) startNodes(ctx context.Context, path string) error {
	if err := c.addUser("kwok", "system:masters"); err != nil {
		return err
	}
	arguments, err := kwok.Arguments(ctx, ".", c.kubeconfig("kwok"))
	if err != nil {
		return err
	}
	if err := c.launch(ctx, path, arguments...); err != nil {
		return err
	}
	return poll(ctx, startTimeout, func(ctx context.Context) (bool, error) {
		nodes := &corev1.NodeList{}
		if err := c.client.List(ctx, nodes); err != nil {
			return false, err
		}
		return !slices.ContainsFunc(nodes.Items, isNotReady), nil
	})
}

func isNotReady(node corev1.Node) bool {
	return !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// startControllers starts the controllers that pods require. They may send as many requests as they can. That of disruption budgets is left
// out: for each event of a pod it reads all budgets in the namespace, which takes more than all else when there are thousands.
func (c *cluster) startControllers(ctx context.Context) error {
	const user = "system:kube-controller-manager"
	if err := c.addUser(user); err != nil {
		return err
	}
	return c.launch(ctx, c.kubernetes("kube-controller-manager"), "--kubeconfig="+c.kubeconfig(user), "--use-service-account-credentials",
		"--controllers=deployment-controller,replicaset-controller,garbage-collector-controller",
		"--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20", "--concurrent-gc-syncs=20",
		"--kube-api-qps=5000", "--kube-api-burst=5000", "--leader-elect=false", "--secure-port=0")
}

func (c *cluster) startScheduler(ctx context.Context) error {
	const user = "system:kube-scheduler"
	if err := c.addUser(user); err != nil {
		return err
	}
	config := filepath.Join(c.folder, "scheduler.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, schedulerConfig, c.kubeconfig(user)), 0o600); err != nil {
		return err
	}
	return c.launch(ctx, c.kubernetes("kube-scheduler"), "--config="+config, "--secure-port=0")
}

// addUser adds a user and writes its kubeconfig.
func (c *cluster) addUser(name string, groups ...string) error {
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return err
	}
	return os.WriteFile(c.kubeconfig(name), kubeconfig, 0o600)
}

// kubernetes returns the path of a program that is built together with the API server.
func (c *cluster) kubernetes(name string) string {
	return filepath.Join(filepath.Dir(c.env.ControlPlane.APIServer.Path), name)
}

// launch starts a program that ends with the cluster.
func (c *cluster) launch(ctx context.Context, path string, arguments ...string) error {
	g, err := launch(ctx, c.controlPlane, nil, path, arguments...)
	if err == nil {
		c.programs = append(c.programs, g)
	}
	return err
}

// failure adds the ends of the logs to an error.
func (c *cluster) failure(err error) error {
	for _, g := range c.programs {
		err = g.failure(err)
	}
	return err
}

func (c *cluster) stop() error {
	var err error
	for _, g := range c.programs {
		err = errors.Join(err, g.kill())
	}
	return errors.Join(err, c.controlPlane.stop())
}

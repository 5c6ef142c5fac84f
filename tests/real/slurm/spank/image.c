/* A test plugin with the options of pyxis that batch scripts use, and a folder instead of an image.
 *
 * IMAGE is the folder /images/IMAGE, with "_" for every "/", "#" and ":"; tasks are started in it by chroot(2), with the
 * paths of --container-mounts bound to the same paths inside. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

SPANK_PLUGIN(image, 1)

enum { IMAGE, MOUNTS, WORKDIR, NO_HOME, COUNT };
static char said[COUNT][4096];

static int take(int which, const char *value, int remote)
{
    (void)remote;
    snprintf(said[which], sizeof said[which], "%s", value ? value : "yes");
    return 0;
}

static struct spank_option options[] = {
    {"container-image", "[USER@][REGISTRY#]IMAGE[:TAG]|PATH", "the image to use", 1, IMAGE, take},
    {"container-mounts", "SRC:DST[:FLAGS][,SRC:DST...]", "bind mounts inside the container", 1, MOUNTS, take},
    {"container-workdir", "PATH", "working directory inside the container", 1, WORKDIR, take},
    {"no-container-mount-home", NULL, "do not mount the user's home", 0, NO_HOME, take},
    SPANK_OPTIONS_TABLE_END,
};

int slurm_spank_init(spank_t spank, int count, char **words)
{
    (void)count, (void)words;
    for (int which = 0; which < COUNT; which++)
        if (spank_option_register(spank, &options[which]) != ESPANK_SUCCESS)
            return -1;
    return 0;
}

static void folder(const char *path)
{
    if (!mkdir(path, 0755))
        chmod(path, 0755);   /* independent of the job's umask */
}

static void folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        folder(path);
        *slash = '/';
    }
    folder(path);
}

int slurm_spank_task_init_privileged(spank_t spank, int count, char **words)
{
    (void)spank, (void)count, (void)words;
    if (!said[IMAGE][0])
        return 0;
    char root[4200], path[9000];
    snprintf(root, sizeof root, "/images/%s", said[IMAGE]);
    for (char *sign = root + strlen("/images/"); *sign; sign++)
        if (strchr("/#:", *sign))
            *sign = '_';
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return -1;
    for (char *one = strtok(said[MOUNTS], ","); one; one = strtok(NULL, ",")) {
        char *inside = strchr(one, ':');
        if (!inside)
            return -1;
        *inside++ = 0;
        snprintf(path, sizeof path, "%s%s", root, inside);
        struct stat from;
        if (!stat(one, &from) && S_ISREG(from.st_mode)) {
            char *name = strrchr(path, '/');
            *name = 0;
            folders(path);
            *name = '/';
            close(open(path, O_CREAT | O_CLOEXEC, 0644));
        } else {
            folders(path);
        }
        if (mount(one, path, NULL, MS_BIND | MS_REC, NULL)) {
            slurm_error("image: %s cannot be mounted at %s: %m", one, path);
            return -1;
        }
    }
    if (chroot(root) || chdir(said[WORKDIR][0] ? said[WORKDIR] : "/")) {
        slurm_error("image: cannot enter %s: %m", root);
        return -1;
    }
    return 0;
}

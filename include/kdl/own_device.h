/* The kind of the device that is the machine itself, and of the images that it runs. Programs that name no
 * device run their kernels on it. */
#pragma once

#define KDL_OWN_DEVICE "host"

#include "../CoreMinimal.h"
